package sendtools

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// Files stores files to post beside the log. All fields are required, but Web.
type Files struct {
	// Read reads a file of the caller's workspace that has at most so many bytes. Errors are those of the tools for files.
	Read func(call *tools.Call, path string, most int64) ([]byte, error)
	// Keep stores what fetch writes, of at most so many bytes. The file has no name yet. A *tool.Error is told to the caller; its code is
	// tool.CodeTooLarge for a file over the limit.
	Keep func(most int64, fetch func(io.Writer) error) (delivery.File, error)
	// Web writes the file at an address, and returns its name. nil: only files of workspaces are posted.
	Web func(ctx context.Context, conf *config.Config, address string, to io.Writer) (name string, err error)
}

// Of stores what a source names: the address of a public file, or a file of the caller's workspace, also as a file: address. Errors for the
// caller are *tool.Error.
func (f *Files) Of(ctx context.Context, call *tools.Call, source string) (delivery.File, error) {
	if rest, local := cutPrefixFold(source, "file://"); local {
		return f.local(call, rest, "")
	}
	if at, err := url.Parse(source); f.Web != nil && err == nil && len(at.Scheme) > 1 { // C: is a drive
		return f.remote(ctx, call, source)
	}
	return f.local(call, source, "")
}

func cutPrefixFold(s, prefix string) (rest string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// local reads and stores a file of the workspace.
func (f *Files) local(call *tools.Call, path, name string) (file delivery.File, err error) {
	most, whose := limit(call)
	content, err := f.Read(call, path, most)
	if err != nil {
		return file, explained(err, whose)
	}
	if file, err = f.keep(most, whose, func(w io.Writer) error { _, err := w.Write(content); return err }); err != nil {
		return file, err
	}
	file.Name = cmp.Or(nameOf(name), nameOf(filepath.Base(filepath.ToSlash(path))), "file")
	return file, nil
}

// remote fetches and stores a file of the web.
func (f *Files) remote(ctx context.Context, call *tools.Call, address string) (delivery.File, error) {
	most, whose := limit(call)
	name := ""
	file, err := f.keep(most, whose, func(w io.Writer) (err error) {
		name, err = f.Web(ctx, call.Config, address, w)
		return err
	})
	file.Name = attach.NameOf(nameOf(name), file.Type)
	return file, err
}

func (f *Files) keep(most int64, whose string, fetch func(io.Writer) error) (delivery.File, error) {
	file, err := f.Keep(most, fetch)
	if err == nil && file.Size == 0 {
		return file, &tool.Error{Code: tool.CodeTooLarge, Field: "/path", Text: "the file is empty", Hint: "post a file with content"}
	}
	return file, explained(err, whose)
}

// explained adds to the refusal of a file that is too large what the limit is.
func explained(err error, whose string) error {
	refused, is := errors.AsType[*tool.Error](err)
	if !is || refused.Code != tool.CodeTooLarge {
		return err
	}
	told := *refused
	told.Hint = "post a smaller file; " + whose
	return &told
}

// limit is how many bytes a file may have where the call is made, and what the limit is.
func limit(call *tools.Call) (most int64, whose string) {
	most = call.Config.Channel(call.Channel).MediaLimit(call.AccountID)
	if service, known := coordination.ChannelNamed(call.Channel); known && int64(service.MaxFile) < most {
		return int64(service.MaxFile), service.Title + " takes no larger ones from bots"
	}
	return most, "the limit is channels." + call.Channel + ".mediaMaxMb"
}

// maxName limits the name of a file, in bytes; its end, which has the kind, is kept.
const maxName = 120

// nameOf is a name without what means something in a path or a header.
func nameOf(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`/\"`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.Trim(name, ". ")
	return strings.ToValidUTF8(name[max(len(name)-maxName, 0):], "")
}
