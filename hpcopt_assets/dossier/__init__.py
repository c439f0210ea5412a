"""Dossier: verdicts and lineage become a document that stands alone.

In:  verdicts, measures, schedules, lineage records.   Out: Markdown and one self-contained HTML page.
Not here: new numbers: whatever is printed was computed in another room.
"""
