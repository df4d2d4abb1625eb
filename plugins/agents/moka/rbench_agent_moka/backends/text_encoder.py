"""GroundingDINO's use of BERT for transformers 5, which took away the three methods that the package calls.

The package wraps BERT to give it a mask for every pair of tokens, so that the words of different phrases do not see
each other. With transformers 4 its own wrapper works and is kept. In transformers 5 a model takes such a mask as it is,
when it has four axes and is added to the scores.
"""

from __future__ import annotations

from typing import Any


def mend_text_encoder() -> None:
    """Give the package a wrapper that the installed transformers can be used with; once a process is enough."""
    from groundingdino.models.GroundingDINO import groundingdino as package
    from transformers import BertModel

    if not hasattr(BertModel, "get_head_mask"):
        package.BertModelWarper = _wrapper()


def _wrapper() -> Any:
    import torch

    class MaskedBert(torch.nn.Module):  # type: ignore[misc, unused-ignore]  # torch may be absent here
        """BERT under the names that checkpoints use, with a mask (batch, tokens, tokens) of what sees what."""

        def __init__(self, bert_model: Any) -> None:
            super().__init__()
            self.config = bert_model.config
            self.embeddings, self.encoder = bert_model.embeddings, bert_model.encoder
            self.pooler = bert_model.pooler
            # Its parts are registered above; a second time they would have second names in a checkpoint.
            object.__setattr__(self, "_whole", bert_model)

        def forward(
            self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None, position_ids: Any = None
        ) -> Any:
            seen = attention_mask.to(self.embeddings.word_embeddings.weight.dtype)
            if seen.dim() == 3:
                seen = (1.0 - seen[:, None]) * torch.finfo(seen.dtype).min
            return self._whole(
                input_ids=input_ids,
                attention_mask=seen,
                token_type_ids=token_type_ids,
                position_ids=position_ids,
                return_dict=True,
            )

    return MaskedBert
