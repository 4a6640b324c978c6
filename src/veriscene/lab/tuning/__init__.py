"""Hyperparameter search with optuna. Its modules need optuna; `veriscene tune --help` needs only what is here."""

# The settings that the paper does not report and that accuracy depends on most.
DEFAULT_SPACE = (
    "training.learning_rate=3e-4:4e-3:log",
    "training.batch=64,128,256,512",
    "training.label_smoothing=0:0.2",
    "training.weight_decay=1e-2:1:log",
    "training.r_drop=0,1,2,4",
    "model.dropout=0:0.6",
    "model.forget_bias=0,1",
    "model.coordinates=corner,contact",
    "model.penalty=1:100.0:log",
    "data.order=random,file,sorted",
    "data.word_dropout=0:0.2",
)
SPACE_FORMS = "section.key=low:high, section.key=low:high:log or section.key=a,b,c"
