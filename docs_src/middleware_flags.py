"""What each flag gives and costs, by twenty small tasks that need no network."""

from __future__ import annotations

from lawful.agents.flags import FLAGS
from lawful.testing.evaluation import referee

for flag in FLAGS:
    print(referee(flag))

# prints: cache_reads: off 8/20, 1.78 for 1,000 tokens; on 12/20, 2.70 for 1,000 tokens
# prints: taint: off 8/20, 1.78 for 1,000 tokens; on 12/20, 2.60 for 1,000 tokens
# prints: counsel: off 8/20, 1.78 for 1,000 tokens; on 12/20, 4.28 for 1,000 tokens
# prints: prompt_cache: off 8/20, 1.78 for 1,000 tokens; on 8/20, 1.78 for 1,000 tokens
