"""What each command does, once its declaration (:mod:`flows.commands`) has read what was typed."""
