"""What a document asks for, done: release, plan, fit, infer, protect. Documents and pages come out; nothing is printed."""
