"""Errors of an object store or a web server, in words for the user."""

from __future__ import annotations

import re

from plmetrics.core.errors import AbsentDataError, EnvironmentFault, PlmetricsError, Problem
from plmetrics.core.redaction import mask_address

_STORES = re.compile(r"object-store error|Generic \w+ error|Debug source|error sending request|HTTP error")
_STATUS = re.compile(r"status code: (?P<status>\d{3}(?: [A-Za-z-]+)*)")
_CODE = re.compile(r"<Code>(?P<code>\w+)</Code>")
_NO_CREDENTIALS = re.compile(
    r"169\.254\.169\.254|metadata\.google|metadata server|[Mm]issing .*[Cc]redential"
    r"|Account must be specified|Missing SecretAccessKey|Missing AccessKeyId"
)
_UNUSABLE = re.compile(
    r"Invalid Access Key|in SAS query|Unable to (open|decode) service account|GCP credential error"
)
_DENIED = re.compile(r"Unauthenticated|PermissionDenied|authentication credentials|necessary privileges")
_DENIED_STATUS = ("401", "403")
_RETRIED = re.compile(r"after (?P<count>\d+) retries")
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_SAS_TOKEN",
}
_LATER = "run again when the store answers; POLARS_CLOUD_MAX_RETRIES says how often a request is repeated"


def is_storage_error(error: BaseException) -> bool:
    """Whether an error comes from an object store or a web server."""
    return type(error).__module__.startswith("obstore") or _STORES.search(str(error)) is not None


def storage_fault(error: BaseException, shown: str) -> PlmetricsError:
    """The error of a store as one of ours, without anything of its text but a status and a code.

    Returns:
        AbsentDataError where there is no such object, else EnvironmentFault.
    """
    text = str(error)
    scheme = shown.partition(":")[0]
    status, code = _STATUS.search(text), _CODE.search(text)
    answer = " ".join(part for part in (status and status["status"], code and f"({code['code']})") if part)
    if code is not None and code["code"] in {"NoSuchBucket", "ContainerNotFound"}:
        return EnvironmentFault(Problem(f"{shown}: there is no such bucket", hint="correct the address"))
    if isinstance(error, FileNotFoundError):
        return AbsentDataError(Problem(f"{shown}: no such object"))
    variables = _CREDENTIALS.get(scheme)
    hint = f"credentials come from the environment: {variables}" if variables else "check the address"
    if _NO_CREDENTIALS.search(text):
        return EnvironmentFault(Problem(f"{shown}: there are no credentials", hint=hint))
    if _UNUSABLE.search(text):
        return EnvironmentFault(Problem(f"{shown}: the credentials cannot be used", hint=hint))
    if _DENIED.search(f"{type(error).__name__} {text}") or answer.startswith(_DENIED_STATUS):
        more = f": {answer}" if answer else ""
        return EnvironmentFault(Problem(f"{shown}: the store denies access{more}", hint=hint))
    retried = _RETRIED.search(text)
    times = retried["count"] if retried else ""
    more = f", after {times} {'retry' if times == '1' else 'retries'}" if times else ""
    reason = f"the store answers {answer}" if answer else "the store cannot be reached"
    return EnvironmentFault(Problem(f"{shown}: {reason}{more}", hint=_LATER))


def mask_error(error: BaseException) -> None:
    """Remove the values of signatures from an error, as tracebacks show them."""
    error.args = tuple(mask_address(arg) if isinstance(arg, str) else arg for arg in error.args)
