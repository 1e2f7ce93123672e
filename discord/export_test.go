package discord

// Waiting is how many posts wait for their turn in a channel.
func Waiting(b *Bots, channel string) int {
	b.lanes.mu.Lock()
	defer b.lanes.mu.Unlock()
	own := b.lanes.lanes[messageLane(channel)]
	if own == nil {
		return 0
	}
	return len(own.queue)
}
