package slack

// Waiting is how many posts wait for their turn in a conversation.
func Waiting(b *Apps, chat string) int { return b.lanes.Waiting("messages " + chat) }
