package tasksync

// SumOf is how events name what a file says.
func SumOf(text string) string { return sumOf([]byte(text)) }
