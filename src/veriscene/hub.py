"""Files of a repository on the Hugging Face hub; knows nothing about what is in them."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from veriscene.errors import InputError

_REPOSITORY = re.compile(r"(?P<owner>\w[\w.-]*)/\w[\w.-]*", re.ASCII)


def is_repository(name: object) -> bool:
    """Whether a model's name is `owner/name` on the hub, not a path: no folder here is called `owner`."""
    match = _REPOSITORY.fullmatch(name) if isinstance(name, str) else None
    return match is not None and not Path(match["owner"]).exists()


def download(
    repository: str,
    names: Collection[str],
    *,
    revision: str | None = None,
    cache_dir: str | Path | None = None,
    token: str | bool | None = None,
    force_download: bool = False,
    local_files_only: bool = False,
) -> Path:
    """A local folder with the files of these names, as far as the repository has them; they are downloaded once.

    The options are those of huggingface_hub. InputError if there is no such repository or no connection.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError

    where = f"{repository} on the Hugging Face hub"
    try:
        folder = snapshot_download(
            repository,
            allow_patterns=list(names),
            revision=revision,
            cache_dir=cache_dir,
            token=token,
            force_download=force_download,
            local_files_only=local_files_only,
        )
    except RevisionNotFoundError:
        raise InputError(f"has no revision {revision!r}", where=where) from None
    except RepositoryNotFoundError:
        allowed = "check the name; a private one needs `hf auth login`"
        raise InputError("no such repository", where=where, allowed=allowed) from None
    except LocalEntryNotFoundError:
        allowed = "retry, or give a folder or the name of a shipped checkpoint"
        raise InputError("no connection, and no copy in the cache", where=where, allowed=allowed) from None
    except Exception as error:  # the HTTP library's exceptions differ between versions of huggingface_hub
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"cannot be downloaded ({reason})", where=where) from None
    return Path(folder)
