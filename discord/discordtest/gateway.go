package discordtest

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"
)

// Gateway opcodes.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opPresence       = 3
	opVoice          = 4
	opResume         = 6
	opReconnect      = 7
	opRequestMembers = 8
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// Gateway close codes.
const (
	closeUnknownOp            = 4001
	closeDecode               = 4002
	closeNotAuthenticated     = 4003
	closeAuthenticationFailed = 4004
	closeAlreadyAuthenticated = 4005
	closeInvalidSeq           = 4007
	closeInvalidIntents       = 4013
	closeDisallowedIntents    = 4014
)

// compressFrom is the size from which payloads are compressed on request.
const compressFrom = 1024

type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s"`
	Type *string         `json:"t"`
}

// gatewaySession lives from READY until it is forgotten, across sockets.
type gatewaySession struct {
	id        string
	bot       *account
	intents   int
	compress  bool
	log       []*entry
	postponed []*entry
	seq       int64
	socket    *socket // nil while the client is disconnected
}

type entry struct {
	Dispatch
	cutBefore, cutAfter bool
}

func (g *gatewaySession) append(e *entry) {
	g.seq++
	e.Seq = g.seq
	g.log = append(g.log, e)
	if g.socket != nil {
		g.socket.poke()
	}
}

// flush appends postponed events.
func (g *gatewaySession) flush() {
	late := g.postponed
	g.postponed = nil
	for _, e := range late {
		g.append(e)
	}
}

// socket is one connection, with one reading and one writing goroutine.
type socket struct {
	s       *Server
	ws      *websocket.Conn
	wake    chan struct{}
	done    chan struct{} // closed by the reader
	control [][]byte
	session *gatewaySession
	next    int // position in the session's log
	ending  int // close code, sent after pending control frames
	ended   bool
	beats   int
}

func (k *socket) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// cut ends the connection without a close frame, as a network failure does.
func (k *socket) cut() {
	k.ended = true
	if tcp, is := k.ws.UnderlyingConn().(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	_ = k.ws.Close()
}

func (k *socket) send(op int, data any) {
	k.control = append(k.control, encode(frame{Op: op, Data: encode(data)}))
	k.poke()
}

// end closes the socket with a code, after what is queued.
func (k *socket) end(code int) {
	k.ending, k.ended = code, true
	k.poke()
}

type hello struct {
	HeartbeatInterval int64    `json:"heartbeat_interval"`
	Trace             []string `json:"_trace"`
}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	k := &socket{s: s, ws: ws, wake: make(chan struct{}, 1), done: make(chan struct{})}
	ws.SetCloseHandler(func(int, string) error { return nil })
	s.mu.Lock()
	if s.shut {
		k.cut()
		s.mu.Unlock()
		return
	}
	s.sockets.Add(2)
	s.open = append(s.open, k)
	k.send(opHello, hello{HeartbeatInterval: s.heartbeat.Milliseconds(), Trace: []string{}})
	s.mu.Unlock()
	go func() {
		defer s.sockets.Done()
		k.write()
	}()
	defer s.sockets.Done()
	k.read()
}

// read handles frames until the connection ends, and then decides whether the session survives.
func (k *socket) read() {
	var err error
	for {
		var text []byte
		if _, text, err = k.ws.ReadMessage(); err != nil {
			break
		}
		k.s.mu.Lock()
		if !k.ended {
			k.handle(text)
		}
		k.s.mu.Unlock()
	}
	close(k.done)
	s := k.s
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = k.ws.Close()
	s.open = slices.DeleteFunc(s.open, func(other *socket) bool { return other == k })
	if g := k.session; g != nil && g.socket == k {
		g.socket = nil
		if !k.ended && websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
			s.forget(g) // with this close code the client gives up the session
		}
	}
	k.ended = true
	s.happened()
}

// write sends control frames, then the session's events, in order.
func (k *socket) write() {
	for {
		k.s.mu.Lock()
		text, e, code := k.pick()
		cut := e != nil && e.cutBefore
		if cut {
			e.cutBefore = false
			k.cut()
		}
		compress := k.session != nil && k.session.compress
		k.s.mu.Unlock()
		switch {
		case cut:
			return
		case code != 0:
			_ = k.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
			_ = k.ws.Close()
			return
		case text == nil:
			select {
			case <-k.wake:
				continue
			case <-k.done:
				return
			}
		}
		if k.put(text, compress) != nil {
			return // the reader detects it too
		}
		if e != nil {
			k.s.mu.Lock()
			e.Written = true
			k.s.happened()
			if e.cutAfter {
				e.cutAfter = false
				k.cutGently()
			}
			k.s.mu.Unlock()
		}
	}
}

// pick returns what is to be written next. The lock is held.
func (k *socket) pick() (text []byte, e *entry, code int) {
	if len(k.control) > 0 {
		text, k.control = k.control[0], k.control[1:]
		return text, nil, 0
	}
	if k.ended {
		return nil, nil, k.ending
	}
	if k.session == nil || k.session.socket != k || k.next >= len(k.session.log) {
		return nil, nil, 0
	}
	e = k.session.log[k.next]
	k.next++
	return encode(frame{Op: opDispatch, Data: e.Data, Seq: &e.Seq, Type: &e.Type}), e, 0
}

// cutGently ends the connection without a close frame, but lets the client read what was written.
func (k *socket) cutGently() {
	k.ended = true
	_ = k.ws.Close()
}

func (k *socket) put(text []byte, compress bool) error {
	if !compress || len(text) < compressFrom {
		return k.ws.WriteMessage(websocket.TextMessage, text)
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(text) // a buffer cannot fail
	_ = z.Close()
	return k.ws.WriteMessage(websocket.BinaryMessage, packed.Bytes())
}

type identify struct {
	Token    string `json:"token"`
	Intents  int    `json:"intents"`
	Compress bool   `json:"compress"`
}

type resume struct {
	Token     string `json:"token"`
	SessionID string `json:"session_id"`
	Seq       int64  `json:"seq"`
}

// handle handles a client's frame. The lock is held.
func (k *socket) handle(text []byte) {
	var f frame
	if json.Unmarshal(text, &f) != nil {
		k.end(closeDecode)
		return
	}
	if k.session == nil && f.Op != opHeartbeat && f.Op != opIdentify && f.Op != opResume {
		k.end(closeNotAuthenticated)
		return
	}
	switch f.Op {
	case opHeartbeat:
		k.beats++
		k.s.happened()
		if k.session == nil || !k.session.bot.mute {
			k.send(opHeartbeatAck, nil)
		}
	case opIdentify:
		var i identify
		if json.Unmarshal(f.Data, &i) != nil {
			k.end(closeDecode)
			return
		}
		k.identify(i)
	case opResume:
		var r resume
		if json.Unmarshal(f.Data, &r) != nil {
			k.end(closeDecode)
			return
		}
		k.resume(r)
	case opRequestMembers:
		k.sendMembers(f.Data)
	case opPresence, opVoice: // not checked
	default:
		k.end(closeUnknownOp)
	}
}

type unavailableGuild struct {
	ID          string `json:"id"`
	Unavailable bool   `json:"unavailable"`
}

type readyApplication struct {
	ID    string `json:"id"`
	Flags int    `json:"flags"`
}

type ready struct {
	Version     int                `json:"v"`
	User        User               `json:"user"`
	Guilds      []unavailableGuild `json:"guilds"`
	SessionID   string             `json:"session_id"`
	ResumeURL   string             `json:"resume_gateway_url"`
	Shard       []int              `json:"shard,omitempty"`
	Application readyApplication   `json:"application"`
}

func (k *socket) identify(i identify) {
	s := k.s
	a := s.byToken(bare(i.Token))
	switch {
	case k.session != nil:
		k.end(closeAlreadyAuthenticated)
		return
	case a == nil || a.refusal != 0:
		k.end(closeAuthenticationFailed)
		return
	case i.Intents < 0:
		k.end(closeInvalidIntents)
		return
	case i.Intents&intentMessageContent != 0 && !a.content || i.Intents&intentMembers != 0 && !a.members:
		k.end(closeDisallowedIntents)
		return
	}
	g := &gatewaySession{id: "session-" + s.next(), bot: a, intents: i.Intents, compress: i.Compress, socket: k}
	k.session, k.next = g, 0
	s.sessions = append(s.sessions, g)
	first := ready{Version: 9, User: a.User, Guilds: []unavailableGuild{}, SessionID: g.id, ResumeURL: s.GatewayURL(),
		Application: readyApplication{a.ID, a.application().Flags}}
	for _, in := range s.guildsOf(a) {
		first.Guilds = append(first.Guilds, unavailableGuild{in.info.ID, true})
	}
	g.enqueue("READY", first)
	if g.intents&intentGuilds != 0 {
		for _, in := range s.guildsOf(a) {
			g.enqueue("GUILD_CREATE", s.guildFor(in, a))
		}
	}
	s.happened()
}

func bare(token string) string {
	if len(token) > 4 && token[:4] == "Bot " {
		return token[4:]
	}
	return token
}

// enqueue appends an event that faults do not affect.
func (g *gatewaySession) enqueue(kind string, data any) {
	g.append(&entry{Dispatch: Dispatch{Bot: g.bot.ID, Session: g.id, Type: kind, Data: encode(data)}})
}

type resumed struct {
	Trace []string `json:"_trace"`
}

func (k *socket) resume(r resume) {
	s := k.s
	a := s.byToken(bare(r.Token))
	i := slices.IndexFunc(s.sessions, func(g *gatewaySession) bool { return g.id == r.SessionID && g.bot == a })
	switch {
	case k.session != nil:
		k.end(closeAlreadyAuthenticated)
		return
	case a == nil || a.refusal != 0:
		k.end(closeAuthenticationFailed)
		return
	case i < 0:
		k.send(opInvalidSession, false)
		return
	}
	g := s.sessions[i]
	if r.Seq > g.seq || r.Seq < 0 {
		k.end(closeInvalidSeq)
		return
	}
	if g.socket != nil {
		g.socket.cut()
	}
	k.session, g.socket, k.next = g, k, int(r.Seq) // the entry with sequence n is at n-1
	g.enqueue("RESUMED", resumed{Trace: []string{}})
	s.happened()
}

// forget ends a session: resuming it is answered as invalid.
func (s *Server) forget(g *gatewaySession) {
	s.sessions = slices.DeleteFunc(s.sessions, func(other *gatewaySession) bool { return other == g })
}

type memberRequest struct {
	GuildID json.RawMessage `json:"guild_id"` // an id; discordgo sends a list of one
	Query   *string         `json:"query"`
	Limit   int             `json:"limit"`
	UserIDs []string        `json:"user_ids"`
	Nonce   string          `json:"nonce"`
}

type memberChunk struct {
	GuildID    string   `json:"guild_id"`
	Members    []Member `json:"members"`
	ChunkIndex int      `json:"chunk_index"`
	ChunkCount int      `json:"chunk_count"`
	Nonce      string   `json:"nonce,omitempty"`
}

func (k *socket) sendMembers(data json.RawMessage) {
	var r memberRequest
	if json.Unmarshal(data, &r) != nil {
		k.end(closeDecode)
		return
	}
	var ids []string
	if json.Unmarshal(r.GuildID, &ids) != nil {
		ids = []string{nonceText(r.GuildID)}
	}
	for _, id := range ids {
		g := k.s.guilds[id]
		if g == nil || g.member(k.session.bot.ID) == nil {
			continue
		}
		chunk := memberChunk{GuildID: id, Members: []Member{}, ChunkCount: 1, Nonce: r.Nonce}
		for _, m := range g.info.Members {
			wanted := len(r.UserIDs) == 0 && (r.Query == nil || len(m.User.Username) >= len(*r.Query) && m.User.Username[:len(*r.Query)] == *r.Query)
			if (wanted || slices.Contains(r.UserIDs, m.User.ID)) && (r.Limit == 0 || len(chunk.Members) < r.Limit) {
				chunk.Members = append(chunk.Members, m)
			}
		}
		k.session.enqueue("GUILD_MEMBERS_CHUNK", chunk)
	}
}
