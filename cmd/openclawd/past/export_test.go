package past

// Changed is closed when a state has been made, given up or closed.
func (c *Cache[V]) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}
