"""What replaying a JudgeCalibration gave, what it is bound to, and whether a judge may decide."""
