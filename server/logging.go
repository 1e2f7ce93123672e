package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// components are the values of the attribute "component", by which parts of the program log.
func components() []string {
	return []string{"agents", "as_of", "backup", "cluster", "config", "continuation", "discord", "eventstore", "gateway", "hooks", "http", "import", "mcp", "mirror", "monitor", "notify", "overrides",
		"projections", "redaction", "sample", "schedules", "search", "slack", "tasks", "telegram", "ui", "verify", "watch", "work", "workers", "workspaces"}
}

// componentKey is the attribute by which levels are selected.
const componentKey = "component"

// NewLogger returns a server's logger that writes to w. levels is a level, optionally with overrides for components:
// "info,monitor=debug,import=warn".
func NewLogger(w io.Writer, levels, format string) (*slog.Logger, error) {
	chosen, err := parseLevels(levels)
	if err != nil {
		return nil, err
	}
	opts := &slog.HandlerOptions{Level: chosen.lowest()}
	switch format {
	case "text":
		return slog.New(&byComponent{chosen, chosen.general, slog.NewTextHandler(w, opts)}), nil
	case "json":
		return slog.New(&byComponent{chosen, chosen.general, slog.NewJSONHandler(w, opts)}), nil
	}
	return nil, &config.SettingError{Setting: "--log-format", Value: format, HintText: "use text or json"}
}

// levels are the minimum levels to log.
type levels struct {
	general slog.Level
	of      map[string]slog.Level // by component
}

func (l *levels) lowest() slog.Level {
	lowest := l.general
	for _, level := range l.of {
		lowest = min(lowest, level)
	}
	return lowest
}

// parseLevels parses a comma-separated list. The level without a component may be anywhere, once; default info.
func parseLevels(text string) (*levels, error) {
	l := &levels{general: slog.LevelInfo, of: map[string]slog.Level{}}
	general := false
	for part := range strings.SplitSeq(text, ",") {
		component, name, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			component, name = "", component
		}
		level, ok := parseLevel(name)
		_, twice := l.of[component]
		switch {
		case !ok:
			return nil, badLevels(text, fmt.Errorf("%q is not a level", name))
		case !named && general, twice:
			return nil, badLevels(text, fmt.Errorf("%q comes twice", part))
		case !named:
			l.general, general = level, true
		case !slices.Contains(components(), component):
			return nil, badLevels(text, fmt.Errorf("unknown component %q", component))
		default:
			l.of[component] = level
		}
	}
	return l, nil
}

func badLevels(text string, err error) error {
	return &config.SettingError{Setting: "--log-level", Value: text, Err: err,
		HintText: "use debug, info, warn or error, for all or as COMPONENT=LEVEL; components are " + strings.Join(components(), ", ")}
}

func parseLevel(name string) (level slog.Level, ok bool) {
	err := level.UnmarshalText([]byte(name))
	return level, err == nil && !strings.ContainsAny(name, "+-")
}

// byComponent drops records below the level of their component.
type byComponent struct {
	levels *levels
	least  slog.Level // of this logger's component
	next   slog.Handler
}

func (h *byComponent) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.least && h.next.Enabled(ctx, level)
}

func (h *byComponent) Handle(ctx context.Context, r slog.Record) error { return h.next.Handle(ctx, r) }

func (h *byComponent) WithAttrs(attrs []slog.Attr) slog.Handler {
	least := h.least
	for _, a := range attrs {
		if a.Key != componentKey {
			continue
		}
		least = h.levels.general
		if level, ok := h.levels.of[a.Value.String()]; ok {
			least = level
		}
	}
	return &byComponent{h.levels, least, h.next.WithAttrs(attrs)}
}

func (h *byComponent) WithGroup(name string) slog.Handler {
	return &byComponent{h.levels, h.least, h.next.WithGroup(name)}
}
