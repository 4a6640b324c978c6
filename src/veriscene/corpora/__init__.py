"""Where examples come from: the public corpus, synthetic corpora, statistics of both."""
