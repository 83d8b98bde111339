"""`make load`: wearers before the pocket platform and before a calibrated fleet, and what became of them."""
