"""Measures of trec_eval (a test compares values) and of ir-measures."""

from __future__ import annotations

from plmetrics.catalogue.synonyms.names import Names

_NONE = "there is none here: bpref is for rows that were not judged"
_SETS = "of ranks here: write a k"

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
        }
    },
    neighbours={
        "ranking": {
            "map_cut": ("map(k=10)", "with a rank"),
            "ndcg_cut": ("ndcg(k=10)", "with a rank"),
            "success": ("hit_at_k(k=10)", "with a rank"),
            "infAP": ("", _NONE),
            "infap": ("", _NONE),
            "gm_map": ("map", "the arithmetic mean over queries here"),
            "ndcg_rel": ("ndcg", "gains are labels, or 2^label - 1, here"),
            "Rndcg": ("ndcg", "with one k for all queries here"),
            "iprec_at_recall": ("precision_at_k(k=10)", "at ranks here, not at recalls"),
            "set_P": ("precision_at_k(k=10)", _SETS),
            "set_recall": ("recall_at_k(k=100)", _SETS),
            "set_F": ("f1_at_k(k=10)", _SETS),
            "set_map": ("map", "of ranks here"),
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
            "NumRet": "num_ret",
            "NumRel": "num_rel",
        }
    },
    neighbours={
        "ranking": {
            "IPrec": ("precision_at_k(k=10)", "at ranks here, not at recalls"),
            "SetP": ("precision_at_k(k=10)", _SETS),
            "SetR": ("recall_at_k(k=100)", _SETS),
            "SetF": ("f1_at_k(k=10)", _SETS),
            "NumQ": ("", "n in every row of the results counts queries"),
        }
    },
)
