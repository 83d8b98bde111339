"""cropper: regions of a photo that are worth a closer look, each seen straight on."""
