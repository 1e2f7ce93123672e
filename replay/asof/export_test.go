package asof

// Changed is closed when a snapshot was built, given up or closed.
func (c *Cache[V]) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}
