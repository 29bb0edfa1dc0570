"""# AgentV's files, line by line

What AgentV's page on eval cases (version 2.6.1) states, and what the pages around it say of suites,
targets and evaluators, up to version 4; and how it holds here. Where page and program of that
project differ, the page counts. Where we differ from the page, the reason stands beside it.
"""
