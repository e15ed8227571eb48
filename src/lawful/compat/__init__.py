"""The neighbours' doors: a journal of ours as LangGraph's saver, and langchain's messages, models and tools both ways.

Every name is imported when it is first used, so that none of these packages is needed until then.
"""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.compat.auditing import Finding as Finding
    from lawful.compat.auditing import audit_graph as audit_graph
    from lawful.compat.exporting import Exported as Exported
    from lawful.compat.exporting import export_threads as export_threads
    from lawful.compat.importing import Imported as Imported
    from lawful.compat.importing import import_threads as import_threads
    from lawful.compat.langchain_messages import conversation as conversation
    from lawful.compat.langchain_messages import from_langchain as from_langchain
    from lawful.compat.langchain_messages import to_langchain as to_langchain
    from lawful.compat.langchain_models import LangchainModel as LangchainModel
    from lawful.compat.langchain_models import LawfulChat as LawfulChat
    from lawful.compat.langchain_models import as_langchain_model as as_langchain_model
    from lawful.compat.langchain_tools import from_langchain_tool as from_langchain_tool
    from lawful.compat.langchain_tools import to_langchain_tool as to_langchain_tool
    from lawful.compat.saver import JournalSaver as JournalSaver
else:
    _TABLE = {
        "Finding": "lawful.compat.auditing",
        "audit_graph": "lawful.compat.auditing",
        "Exported": "lawful.compat.exporting",
        "export_threads": "lawful.compat.exporting",
        "Imported": "lawful.compat.importing",
        "import_threads": "lawful.compat.importing",
        "JournalSaver": "lawful.compat.saver",
        "from_langchain": "lawful.compat.langchain_messages",
        "to_langchain": "lawful.compat.langchain_messages",
        "conversation": "lawful.compat.langchain_messages",
        "LangchainModel": "lawful.compat.langchain_models",
        "LawfulChat": "lawful.compat.langchain_models",
        "as_langchain_model": "lawful.compat.langchain_models",
        "from_langchain_tool": "lawful.compat.langchain_tools",
        "to_langchain_tool": "lawful.compat.langchain_tools",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
