"""The floor that all else stands on: values, errors, signals, messages, events, reducers, codecs, context."""
