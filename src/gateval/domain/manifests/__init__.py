"""The manifests as values: Agent, Eval, EvalFixture, JudgeCalibration, scripted model, gate config.

Field names here are snake_case; in YAML they are camelCase. `formats/` reads the one into the
other. `docs/reference/keys.md` lists the fields.
"""
