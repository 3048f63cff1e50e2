"""A small, real agentic RL run: tool calls over several turns, GRPO in numpy, four rollout processes, recorded by rollscope."""
