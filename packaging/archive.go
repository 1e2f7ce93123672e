package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// entry is a file of an archive: a text, or the content of a file.
type entry struct {
	name string
	text string
	from string // path of a file, if text is ""
	mode fs.FileMode
}

const (
	program  fs.FileMode = 0o755
	document fs.FileMode = 0o644
)

func (e *entry) content() ([]byte, error) {
	if e.from == "" {
		return []byte(e.text), nil
	}
	return os.ReadFile(e.from)
}

// documents are the files that each archive contains beside the program.
func (r *release) documents() (entries []entry) {
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		entries = append(entries, entry{name: name, from: filepath.Join(r.source, name), mode: document})
	}
	return entries
}

// archives makes the archive of each platform.
func (r *release) archives() error {
	for _, p := range r.platforms {
		entries := append([]entry{{name: "openclawd" + p.suffix(), from: r.program(p), mode: program}}, r.documents()...)
		write := r.tarball
		if p.os == "windows" {
			write = r.zip
		}
		if err := write(p.archive(), entries); err != nil {
			return err
		}
	}
	return nil
}

// create writes a file of dist.
func (r *release) create(name string, write func(io.Writer) error) (err error) {
	f, err := os.Create(filepath.Join(r.dist, name))
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	return write(f)
}

func (r *release) tarball(name string, entries []entry) error {
	return r.create(name, func(w io.Writer) error {
		packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := writeTar(packed, entries, r.time); err != nil {
			return err
		}
		return packed.Close()
	})
}

// writeTar writes files that belong to root, with one time.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	t := tar.NewWriter(w)
	for i := range entries {
		content, err := entries[i].content()
		if err != nil {
			return err
		}
		head := &tar.Header{Typeflag: tar.TypeReg, Name: entries[i].name, Mode: int64(entries[i].mode), Size: int64(len(content)), ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		if _, err := t.Write(content); err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) zip(name string, entries []entry) error {
	return r.create(name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for i := range entries {
			content, err := entries[i].content()
			if err != nil {
				return err
			}
			head := &zip.FileHeader{Name: entries[i].name, Method: zip.Deflate, Modified: r.time}
			head.SetMode(entries[i].mode)
			part, err := z.CreateHeader(head)
			if err != nil {
				return err
			}
			if _, err := part.Write(content); err != nil {
				return err
			}
		}
		return z.Close()
	})
}
