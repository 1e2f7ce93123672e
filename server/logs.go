package server

import (
	"context"
	"log/slog"
	"sync"

	"github.com/pronto-lab/openclawd/gateway"
)

// keptLogBytes limits how much of the program's own log is held in memory.
const keptLogBytes = 1 << 20

// logBuffer is the newest part of the program's own log, for gateway clients. It implements gateway.Logs.
type logBuffer struct {
	most int64

	mu    sync.Mutex
	lines []string
	first int64 // offset of the oldest line kept, in bytes of the whole log
	size  int64
}

// Write adds one line with its newline.
func (l *logBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line[:len(line)-len("\n")]))
	l.size += int64(len(line))
	for l.size-l.first > l.most {
		l.first += sizeOf(l.lines[0])
		l.lines[0] = ""
		l.lines = l.lines[1:]
	}
	return len(line), nil
}

func sizeOf(line string) int64 { return int64(len(line)) + int64(len("\n")) }

// Tail implements gateway.Logs.
func (l *logBuffer) Tail(cursor int64, limit, maxBytes int) gateway.LogTail {
	l.mu.Lock()
	defer l.mu.Unlock()
	tail := gateway.LogTail{Source: "openclawd, in memory", Cursor: l.size, Size: l.size, Lines: []string{}, Reset: cursor > l.size}
	if tail.Reset || cursor < 0 {
		cursor = 0
	}
	tail.Truncated = cursor < l.first
	at, begin := l.first, 0
	for begin < len(l.lines) && at < cursor {
		at += sizeOf(l.lines[begin])
		begin++
	}
	end, bytes := len(l.lines), int64(0)
	for end > begin {
		bytes += sizeOf(l.lines[end-1])
		if len(l.lines)-end >= limit || bytes > int64(maxBytes) {
			tail.Truncated, begin = true, end
			break
		}
		end--
	}
	tail.Lines = append(tail.Lines, l.lines[begin:]...)
	return tail
}

// bufferHandler is a handler that also stores its records in memory.
type bufferHandler struct{ shown, kept slog.Handler }

// keepLog returns a logger whose visible lines are also stored as JSON.
func keepLog(logger *slog.Logger, in *logBuffer) *slog.Logger {
	return slog.New(&bufferHandler{logger.Handler(), slog.NewJSONHandler(in, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: asClientsRead})})
}

// asClientsRead renames message and level to the keys that openclaw logs expects.
func asClientsRead(groups []string, a slog.Attr) slog.Attr {
	switch {
	case len(groups) > 0:
	case a.Key == slog.MessageKey:
		a.Key = "0"
	case a.Key == slog.LevelKey:
		return slog.Group("_meta", slog.String("logLevelName", a.Value.String()))
	}
	return a
}

func (h *bufferHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.shown.Enabled(ctx, level)
}

func (h *bufferHandler) Handle(ctx context.Context, r slog.Record) error {
	_ = h.kept.Handle(ctx, r.Clone()) // writes to memory never fail
	return h.shown.Handle(ctx, r)
}

func (h *bufferHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &bufferHandler{h.shown.WithAttrs(attrs), h.kept.WithAttrs(attrs)}
}

func (h *bufferHandler) WithGroup(name string) slog.Handler {
	return &bufferHandler{h.shown.WithGroup(name), h.kept.WithGroup(name)}
}
