"""The ways in which a call of a model can fail, each beneath one of the thirteen, with whether another try may help."""

from __future__ import annotations

from lawful.core.errors import ConfigurationError, LLMError, NetworkError, ParsingError


class RateLimited(LLMError):
    """The provider has had too many requests; ``details["retry_after"]`` are the seconds that it asks for, if it says."""

    code = "rate_limited"


class ProviderFailed(LLMError):
    """The provider answered with a failure of its own (a status of 500 or more, or an error in the stream)."""

    code = "provider_failed"


class RequestRefused(LLMError):
    """The provider did not take this request, and would not take it a second time."""

    code = "request_refused"
    _retryable = False


class ContextTooLong(RequestRefused):
    """The conversation is longer than the model can read."""

    code = "context_too_long"


class ContentFiltered(LLMError):
    """The provider's filter stopped the request or the answer."""

    code = "content_filtered"
    _retryable = False


class MalformedReply(LLMError):
    """What the provider sent is not of its own wire's form."""

    code = "malformed_reply"


class KeyRefused(ConfigurationError):
    """The provider does not know the key, or the key may not do this."""

    code = "key_refused"


class ModelTimeout(NetworkError, TimeoutError):
    """The answer was not there within the time that the settings or the run allow."""

    code = "model_timeout"


class StreamBroken(NetworkError):
    """The connection was lost while the answer was coming; what had come is in ``details["text"]``."""

    code = "stream_broken"


class OutputInvalid(ParsingError):
    """The model's answer was not of the form asked for, however often it was told what is wrong.

    ``details`` has ``output``, the last answer, ``errors``, what was wrong with it, and ``attempts``.
    """

    code = "output_invalid"
