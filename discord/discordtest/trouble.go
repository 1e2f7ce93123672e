package discordtest

import "slices"

// Faults of a bot's sockets.

// Drop cuts the bot's sockets without a close frame, as a network failure does; its sessions can be resumed.
func (b *Bot) Drop() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.s.dropSockets(b.own)
}

func (s *Server) dropSockets(a *account) {
	for _, g := range s.sessions {
		if g.bot == a && g.socket != nil {
			k := g.socket
			g.socket = nil
			k.cut()
		}
	}
	s.happened()
}

// CloseSockets closes the bot's sockets with one of Discord's codes, e.g. 4000; its sessions can be resumed.
func (b *Bot) CloseSockets(code int) {
	b.eachSocket(func(k *socket) {
		k.session.socket = nil
		k.end(code)
	})
}

// AskToReconnect sends opcode 7.
func (b *Bot) AskToReconnect() {
	b.eachSocket(func(k *socket) { k.send(opReconnect, nil) })
}

// Invalidate sends opcode 9 on the bot's sockets and forgets its sessions. The client has to identify again, possibly
// on the same socket.
func (b *Bot) Invalidate() {
	b.eachSocket(func(k *socket) {
		b.s.forget(k.session)
		k.session = nil
		k.send(opInvalidSession, false)
	})
}

// ForgetSessions makes the next resume fail with opcode 9; open sockets stay but receive nothing more.
func (b *Bot) ForgetSessions() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	for _, g := range slices.Clone(b.s.sessions) {
		if g.bot == b.own {
			b.s.forget(g)
		}
	}
	b.s.happened()
}

// MuteAcks stops or resumes heartbeat acknowledgements.
func (b *Bot) MuteAcks(mute bool) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.own.mute = mute
}

// Flush sends postponed events to the bot's sessions.
func (b *Bot) Flush() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	for _, g := range b.s.sessions {
		if g.bot == b.own {
			g.flush()
		}
	}
}

func (b *Bot) eachSocket(do func(*socket)) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	for _, g := range slices.Clone(b.s.sessions) {
		if g.bot == b.own && g.socket != nil {
			do(g.socket)
		}
	}
	b.s.happened()
}
