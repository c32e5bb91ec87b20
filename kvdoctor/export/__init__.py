"""The knowledge as rules and pages of the systems in which a fleet's logs already live.

:mod:`kvdoctor.export.rules` turns records into patterns; each other module writes them in the form
of one system. All of it is deterministic: the same knowledge gives the same bytes.
"""

from __future__ import annotations

FORMS = {
    "loki": "kvdoctor.export.loki",
    "elasticsearch": "kvdoctor.export.elasticsearch",
    "opentelemetry": "kvdoctor.export.opentelemetry",
    "vector": "kvdoctor.export.vector",
    "prometheus-runbooks": "kvdoctor.export.runbooks",
}
