"""CPU inference with ONNX Runtime."""
