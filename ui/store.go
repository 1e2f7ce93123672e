package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
)

// Store keeps one text for all who use the page.
type Store interface {
	// Read returns the text; empty if there is none yet.
	Read() ([]byte, error)
	// Write replaces the text. Once it has returned nil, the new text is on disk; before that, the old one or the new.
	Write(text []byte) error
}

// storeKeys are the keys under which the page keeps something.
var storeKeys = []string{"queries", "views"}

// MaxStore limits the stored text of all keys.
const MaxStore = 256 << 10

// kept is what is stored under a key.
type kept struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"` // null: nothing yet
}

// serveStore reads or replaces what is kept under a key. A change names the version that it replaces in If-Match, so
// that two people do not overwrite each other's changes.
func (s *Site) serveStore(w http.ResponseWriter, r *http.Request, key string) {
	if !allow(w, r, http.MethodGet, http.MethodHead, http.MethodPut) {
		return
	}
	w.Header().Add("Vary", "Cookie")
	check, role := checkWrite, Operate
	if isRead(r.Method) {
		check, role = checkSite, Read
	}
	if refused := check(r); refused != nil {
		refuse(w, refused)
		return
	}
	switch now := s.sessionOf(r); {
	case now.role < role:
		refuse(w, needs(now, role))
	case s.opts.Store == nil || !slices.Contains(storeKeys, key):
		refuse(w, &problem{Status: http.StatusNotFound, Code: "not_found", Message: "Nothing is kept under this key", Field: "key",
			Hint: "use " + strings.Join(storeKeys, " or "), Allowed: storeKeys})
	case r.Method == http.MethodPut:
		s.replaceKept(w, r, key, now)
	default:
		all, refused := s.readStore()
		if refused != nil {
			refuse(w, refused)
			return
		}
		writeKept(w, key, all[key])
	}
}

func (s *Site) replaceKept(w http.ResponseWriter, r *http.Request, key string, by session) {
	value, refused := readKept(w, r)
	match := strings.TrimPrefix(strings.TrimSpace(r.Header.Get("If-Match")), "W/") // a proxy that compresses weakens it
	if refused == nil && match == "" {
		refused = &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "Missing If-Match", Field: "If-Match",
			Hint: "send the ETag of the version that is replaced"}
	}
	if refused != nil {
		refuse(w, refused)
		return
	}
	s.storing.Lock()
	defer s.storing.Unlock()
	all, refused := s.readStore()
	if refused != nil {
		refuse(w, refused)
		return
	}
	if now := etagOf(all[key]); match != now {
		w.Header().Set("ETag", now)
		refuse(w, &problem{Status: http.StatusConflict, Code: "conflict", Message: "It was changed meanwhile", Field: "If-Match",
			Hint: "read it again, and make the change on what is there now"})
		return
	}
	all[key] = value
	text, err := json.Marshal(all)
	switch {
	case err == nil && len(text) > MaxStore:
		refuse(w, storeTooLarge(int64(len(text))))
		return
	case err == nil:
		err = s.opts.Store.Write(text)
	}
	if err != nil {
		s.opts.Logger.Error("cannot store what the page keeps", "err", err)
		refused := &problem{Status: http.StatusInternalServerError, Code: "internal", Message: "Internal server error", Hint: "see the server's log"}
		if errors.Is(err, syscall.ENOSPC) {
			refused = &problem{Status: http.StatusInsufficientStorage, Code: "disk_full", Message: "The disk is full", Hint: "free space on the server's disk"}
		}
		refuse(w, refused)
		return
	}
	s.opts.Logger.Info("what the page keeps was replaced", "key", key, "by", by.by, "role", by.role, "bytes", len(value), "client", clientOf(r))
	writeKept(w, key, value)
}

// readKept reads the body of a change: {"value": any JSON}.
func readKept(w http.ResponseWriter, r *http.Request) (json.RawMessage, *problem) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxStore))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, storeTooLarge(r.ContentLength)
	}
	invalid := &problem{Status: http.StatusBadRequest, Code: "invalid_body", Message: "Invalid JSON body", Field: "value", Hint: `send {"value": …}`}
	var said struct{ Value json.RawMessage }
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err == nil {
		err = decoder.Decode(&said)
	}
	if err != nil || decoder.More() || said.Value == nil {
		return nil, invalid
	}
	value, err := json.Marshal(said.Value) // in the form in which it is stored: its version is that of the text
	if err != nil {
		return nil, invalid
	}
	return value, nil
}

// storeTooLarge refuses a text of so many bytes; -1: unknown.
func storeTooLarge(size int64) *problem {
	p := &problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "Too much to keep", Field: "value",
		Hint: "all keys together may have 256 KiB: remove something, or export it"}
	if size >= 0 {
		p.Value = fmt.Sprintf("%d bytes", size)
	}
	return p
}

// readStore returns what is kept, by key.
func (s *Site) readStore() (map[string]json.RawMessage, *problem) {
	all := map[string]json.RawMessage{}
	text, err := s.opts.Store.Read()
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		s.opts.Logger.Error("cannot read what the page keeps", "err", err)
		return nil, &problem{Status: http.StatusInternalServerError, Code: "store_unreadable", Message: "What the page keeps cannot be read",
			Hint: "see the server's log; without the file the page starts with nothing"}
	}
	return all, nil
}

func writeKept(w http.ResponseWriter, key string, value json.RawMessage) {
	w.Header().Set("ETag", etagOf(value))
	if value == nil {
		value = json.RawMessage("null")
	}
	writeJSON(w, http.StatusOK, kept{key, value})
}

// etagOf is the version of a value.
func etagOf(value json.RawMessage) string {
	if value == nil {
		return `"none"`
	}
	sum := sha256.Sum256(value)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}
