"""AgentV's files, read as they are: suites of cases, their evaluators, and the targets they ask.

A suite becomes an Eval for each target that its cases name, a case a fixture, a target an Agent.
Suites, files of cases and targets refer to each other, so they are recognised one by one
(`recognition.py`) and put together when the whole revision is known (`assembly.py`). Versions 2.6.1
to 4 are read; where documents and code of that project differ, the documents count.
"""
