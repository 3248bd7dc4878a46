"""The words of the judges' pages; a study replaces any of them in its ``[texts]``."""

from __future__ import annotations

from collections.abc import Mapping

from jamrank.errors import InputError

TEXTS = {
    "welcome": "You are invited to compare things, two at a time.",
    "how_long": "There are {total} comparisons. You can stop at any time and continue later with the same link.",
    "start": "Start",
    "go_on": "Continue",
    "agree": "I have read this and agree to take part.",
    "about_you": "About you",
    "about_note": "Stored separately from your votes; the organiser can delete it.",
    "must_agree": "Please agree before you start.",
    "link_unknown": "This link is not valid. Ask the sender for a new one.",
    "link_used_up": "This link has reached its limit of judges. Ask the sender for another one.",
    "signed_out": "Open your invitation link again to continue.",
    "item_a": "A",
    "item_b": "B",
    "choose_a": "Choose A",
    "choose_b": "Choose B",
    "grade_a": "A is {grade}",
    "grade_b": "B is {grade}",
    "tie": "Neither",
    "skip": "Skip",
    "undo": "Undo",
    "keys": "Keys: ← A, → B{tie}{skip}, U undo",
    "keys_tie": ", ↓ neither",
    "keys_skip": ", S skip",
    "your_answer": "Your answer",
    "image_alt": "Image of item {name}",
    "audio_label": "Audio of item {name}",
    "video_label": "Video of item {name}",
    "progress": "{done} of {total}",
    "progress_label": "Progress",
    "practice": "Practice: this one does not count.",
    "practice_right": "Practice: that is what we expected.",
    "practice_wrong": "Practice: most people would have chosen the other one.",
    "saved": "Saved.",
    "all_saved": "All votes are saved.",
    "undone": "Undone. Please answer again.",
    "nothing_to_undo": "There is nothing to undo.",
    "one_waiting": "No connection. 1 vote is kept here and will be sent.",
    "many_waiting": "No connection. {n} votes are kept here and will be sent.",
    "waiting_for_network": "Waiting for a connection. Your votes are kept here.",
    "refused": "That was refused. Please reload the page.",
    "too_fast": "That was very fast. Please wait a moment.",
    "not_stored": "Your vote could not be stored. Please try again later.",
    "unknown_pair": "This pair was not given to you, or was withdrawn.",
    "looking": "Looking for your next pair …",
    "paused": "The study is paused. Please come back later; your votes are saved.",
    "closed": "The study is closed. Thank you for your votes.",
    "done_title": "Thank you!",
    "done": "You have answered everything. You may close this page.",
    "no_script_next": "Next pair",
    "not_found": "There is no such page.",
    "error": "Something went wrong",
}


def texts_of(replaced: Mapping[str, str]) -> dict[str, str]:
    """Return all texts, with those of the study in place of the defaults."""
    unknown = sorted(set(replaced) - set(TEXTS))
    if unknown:
        raise InputError(f"texts has {unknown[0]!r}", f"known: {', '.join(TEXTS)}")
    return TEXTS | dict(replaced)
