"""A recipe for openpi: the fine-tuning of RoboView-Bias A.3 as files, made for one data set."""
