"""Draw docs/images/covariance_forms.png: the picture of examples/covariance_forms.py, smaller."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1]
EXAMPLE = DOCS.parent / "examples" / "covariance_forms.py"


def main() -> None:
    """Draw and save the picture."""
    example = runpy.run_path(str(EXAMPLE))
    plt.switch_backend("agg")
    plt.style.use(EXAMPLE.with_name("pictures.mplstyle"))
    figure, panels = plt.subplots(1, 5, figsize=(13, 3))
    for covariance, axes in zip(example["FORMS"], panels, strict=True):
        example["draw"](axes, example["learned"](covariance))
    figure.savefig(DOCS / "images" / "covariance_forms.png", dpi=90)


if __name__ == "__main__":
    main()
