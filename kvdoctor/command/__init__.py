"""What the command line takes and gives: arguments, inputs, answers, dialogue, output."""
