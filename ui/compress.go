package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	minZipped = 1 << 10 // smaller answers are not compressed
	// zipLevel compresses lists of events to a ninth, in about a third of the time of the highest level.
	zipLevel = 5
	// maxKept is how much of an answer is kept to compute its ETag. Longer answers are sent as they come, without one: the API accounts for
	// the memory of answers until they are written here.
	maxKept = 1 << 20
	// maxAllKept is how much of all answers together is kept here, apart from the first freeKept bytes of each. Those above it are sent as
	// they come.
	maxAllKept = 16 << 20
	freeKept   = 64 << 10
)

// takesGzip reports whether a client accepts gzip.
func takesGzip(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept-Encoding") {
		for offer := range strings.SplitSeq(list, ",") {
			name, parameter, _ := strings.Cut(offer, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				_, q, weighed := strings.Cut(parameter, "=")
				weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
				return !weighed || err == nil && weight > 0
			}
		}
	}
	return false
}

// matches reports whether If-None-Match lists a tag. Weak and strong tags are the same here, as RFC 9110 says.
func matches(lists []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	for _, list := range lists {
		for offer := range strings.SplitSeq(list, ",") {
			if offer = strings.TrimSpace(offer); offer == "*" || strings.TrimPrefix(offer, "W/") == tag {
				return true
			}
		}
	}
	return false
}

var zippers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, zipLevel)
	if err != nil { // only for an unknown level
		return gzip.NewWriter(nil)
	}
	return w
}}

// answerWriter compresses an answer of the API and gives it a weak ETag, the hash of its content. The seq of the log would not do: states
// also change with time.
type answerWriter struct {
	http.ResponseWriter
	request *http.Request
	status  int
	kept    bytes.Buffer
	zipper  *gzip.Writer // set once the answer is sent as it comes
	plain   bool         // likewise, uncompressed

	all      *atomic.Int64 // bytes that all answers have reserved
	reserved int64         // by this one
}

// Unwrap gives http.ResponseController access to the deadlines of the connection.
func (a *answerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// FlushError sends what was written so far.
func (a *answerWriter) FlushError() error {
	a.WriteHeader(http.StatusOK)
	if a.zipper == nil && !a.plain {
		if err := a.begin(); err != nil {
			return err
		}
	}
	if a.zipper != nil {
		if err := a.zipper.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// reserve reports whether n more bytes may be kept.
func (a *answerWriter) reserve(n int) bool {
	total := int64(a.kept.Len() + n)
	if total <= freeKept {
		return true
	}
	more := total - a.reserved
	if a.all.Add(more) > maxAllKept {
		a.all.Add(-more)
		return false
	}
	a.reserved = total
	return true
}

// release gives back what was reserved.
func (a *answerWriter) release() {
	a.all.Add(-a.reserved)
	a.reserved = 0
}

// WriteHeader keeps the status until the content is known.
func (a *answerWriter) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write keeps content, or passes it on once it is too long to keep.
func (a *answerWriter) Write(content []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	switch {
	case a.zipper != nil:
		return a.zipper.Write(content)
	case a.plain:
		return a.ResponseWriter.Write(content)
	case a.kept.Len()+len(content) <= maxKept && a.reserve(len(content)):
		return a.kept.Write(content)
	}
	if err := a.begin(); err != nil {
		return 0, err
	}
	return a.Write(content)
}

// begin sends what was kept of a long answer.
func (a *answerWriter) begin() error {
	a.plain = !a.mayZip()
	if !a.plain {
		a.startZip()
	}
	a.ResponseWriter.WriteHeader(a.status)
	kept := a.kept.Bytes()
	a.kept = bytes.Buffer{}
	_, err := a.Write(kept)
	a.release()
	return err
}

func (a *answerWriter) startZip() {
	a.Header().Set("Content-Encoding", "gzip")
	a.Header().Del("Content-Length")
	a.zipper = zippers.Get().(*gzip.Writer)
	a.zipper.Reset(a.ResponseWriter)
}

func (a *answerWriter) mayZip() bool {
	h := a.Header()
	if !isText(h.Get("Content-Type")) || h.Get("Content-Encoding") != "" {
		return false
	}
	h.Add("Vary", "Accept-Encoding")
	return takesGzip(a.request) && a.request.Method != http.MethodHead
}

// finish sends what is left.
func (a *answerWriter) finish() {
	defer a.release()
	switch {
	case a.zipper != nil:
		a.endZip()
		return
	case a.plain:
		return
	}
	a.WriteHeader(http.StatusOK)
	h, content := a.Header(), a.kept.Bytes()
	if isRead(a.request.Method) && a.status == http.StatusOK && h.Get("ETag") == "" {
		sum := sha256.Sum256(content)
		tag := `W/"` + hex.EncodeToString(sum[:8]) + `"`
		if len(content) > 0 {
			h.Set("ETag", tag)
		}
		if h.Get("Cache-Control") == "" {
			h.Set("Cache-Control", "private, no-cache")
		}
		if len(content) > 0 && matches(a.request.Header.Values("If-None-Match"), tag) {
			h.Del("Content-Type")
			h.Del("Content-Length")
			a.ResponseWriter.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	if a.mayZip() && len(content) > minZipped {
		a.startZip()
		defer a.endZip()
	}
	a.ResponseWriter.WriteHeader(a.status)
	a.kept = bytes.Buffer{}
	a.plain = a.zipper == nil
	_, _ = a.Write(content) // the client may have left
}

func (a *answerWriter) endZip() {
	_ = a.zipper.Close() // the client may have left
	a.zipper.Reset(nil)
	zippers.Put(a.zipper)
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }
