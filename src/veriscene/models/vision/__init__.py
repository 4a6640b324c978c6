"""What looks at pixels: backbones, their weights and their features."""
