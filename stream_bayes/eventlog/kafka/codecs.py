"""Compression codecs: those that the Kafka client cannot decompress here, and the package that each needs.

The packages are dependencies of stream_bayes, so that none is missing unless it was removed or cannot be installed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka import codec

from stream_bayes.errors import LogError

logger = logging.getLogger("stream_bayes.eventlog")
PACKAGES: Mapping[str, str] = {"lz4": "lz4", "snappy": "python-snappy", "zstd": "zstandard"}
"""The package that decompresses each codec; gzip is part of Python."""


def missing_codecs() -> list[str]:
    """The codecs whose package cannot be imported."""
    available = {"lz4": codec.has_lz4(), "snappy": codec.has_snappy(), "zstd": codec.has_zstd()}
    return [name for name in PACKAGES if not available[name]]


def check_codecs(compression_types: Mapping[str, str], missing: list[str], server: str) -> None:
    """Name every missing codec before a record is read.

    `compression_types` has the broker's `compression.type` of each topic that is to be read. A topic that the broker
    compresses with a missing codec is refused. Where producers choose the codec it may never be met: a warning.
    """
    for topic, compression_type in compression_types.items():
        if compression_type in missing:
            raise missing_codec_error(compression_type, f"{server}: records of the topic {topic!r}")
    for name in missing:
        fields = {"codec": name, "remedy": f"pip install {PACKAGES[name]}"}
        logger.warning("records compressed with this codec cannot be read", extra={"fields": fields})


def missing_codec_error(name: str, records: str) -> LogError:
    """The error for records that are compressed with a missing codec."""
    message = f"{records} are compressed with {name}, for which a package is missing: pip install {PACKAGES[name]}"
    return LogError(message)
