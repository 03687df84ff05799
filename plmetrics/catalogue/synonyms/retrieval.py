"""Measures of trec_eval (a test compares values) and of ir-measures."""

from __future__ import annotations

from plmetrics.catalogue.synonyms.names import Names

_NONE = "there is none here: bpref is for rows that were not judged"

TREC_EVAL = Names(
    "trec_eval",
    equivalents={
        "ranking": {
            "map_cut_K": "map(k=K)",
            "recip_rank": "mrr",
            "ndcg_cut_K": "ndcg(k=K)",
            "P_K": "precision_at_k(k=K)",
            "recall_K": "recall_at_k(k=K)",
            "success_K": "hit_at_k(k=K)",
            "Rprec": "r_precision",
            "relative_P_K": "precision_at_k(k=K, denominator=min_k)",
            "gm_map": "gmap",
            "set_P": "set_precision",
            "set_F": "set_f1",
        }
    },
    neighbours={
        "ranking": {
            "map_cut": ("map(k=10)", "with a rank"),
            "ndcg_cut": ("ndcg(k=10)", "with a rank"),
            "success": ("hit_at_k(k=10)", "with a rank"),
            "infAP": ("", _NONE),
            "infap": ("", _NONE),
            "ndcg_rel": ("ndcg", "gains are labels, or 2^label - 1, here"),
            "Rndcg": ("ndcg", "with one k for all queries here"),
            "iprec_at_recall": (
                "interpolated_precision(recall=0.1)",
                "with a recall; version 9: rounding=up",
            ),
            "Rprec_mult": ("r_precision(multiple=0.2)", "with a multiple"),
            "set_map": ("set_precision", "its product with set_recall, query by query"),
            "unj": ("judged_at_k(k=10)", "which is 1 - that"),
        }
    },
)

IR_MEASURES = Names(
    "ir-measures",
    equivalents={
        "ranking": {
            "nDCG": "ndcg",
            "AP": "map",
            "MAP": "map",
            "RR": "mrr",
            "MRR": "mrr",
            "P": "precision_at_k",
            "R": "recall_at_k",
            "Recall": "recall_at_k",
            "Precision": "precision_at_k",
            "Rprec": "r_precision",
            "RPrec": "r_precision",
            "Success": "hit_at_k",
            "Bpref": "bpref",
            "ERR": "err",
            "RBP": "rbp",
            "Judged": "judged_at_k",
            "NumQ": "num_q",
            "NumRet": "num_ret",
            "NumRel": "num_rel",
            "SetP": "set_precision",
            "SetR": "set_recall",
            "SetF": "set_f1",
        }
    },
    neighbours={
        "ranking": {
            "IPrec": ("interpolated_precision(recall=0.1, rounding=up)", "with a recall"),
        }
    },
)
