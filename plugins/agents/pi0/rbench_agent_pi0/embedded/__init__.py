"""The embedded policy: a compact vision-language-action model that was trained with rbench, and its training."""
