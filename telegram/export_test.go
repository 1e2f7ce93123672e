package telegram

// WaitingCalls is how many calls of an account's webhook wait for their turn.
func WaitingCalls(b *Bots, account string) int {
	t := b.bot(account).turns
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}
