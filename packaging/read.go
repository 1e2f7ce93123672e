package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
)

// readTar returns the regular files of a tar file.
func readTar(from io.Reader) (contents, error) {
	files := contents{}
	for t := tar.NewReader(from); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		files[head.Name] = packed{head.Mode, data}
	}
}

func readTarball(raw []byte) (contents, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return readTar(unpacked)
}

func readZip(raw []byte) (contents, error) {
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	files := contents{}
	for _, f := range z.File {
		part, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(part)
		if err = errors.Join(err, part.Close()); err != nil {
			return nil, err
		}
		files[f.Name] = packed{int64(f.Mode().Perm()), data}
	}
	return files, nil
}

// rooted returns the files under absolute names: packages say ./usr, usr or /usr.
func (c contents) rooted() contents {
	all := contents{}
	for name, f := range c {
		all[path.Join("/", name)] = f
	}
	return all
}

// readDeb returns the files that a .deb installs. Its control files must be there too.
func readDeb(raw []byte) (contents, error) {
	members, err := readAr(raw)
	if err != nil {
		return nil, err
	}
	control, err := readTarball(members["control.tar.gz"])
	if err != nil {
		return nil, fmt.Errorf("control.tar.gz: %w", err)
	}
	control = control.rooted()
	for _, name := range []string{"/control", "/conffiles", "/postinst", "/prerm", "/postrm"} {
		if len(control[name].data) == 0 {
			return nil, fmt.Errorf("the control file %s is missing or empty", name)
		}
	}
	if want := environment + "\n"; string(control["/conffiles"].data) != want {
		return nil, fmt.Errorf("the files that an upgrade keeps are %q, want %q", control["/conffiles"].data, want)
	}
	files, err := readTarball(members["data.tar.gz"])
	if err != nil {
		return nil, fmt.Errorf("data.tar.gz: %w", err)
	}
	return files.rooted(), nil
}

const (
	arMagic = "!<arch>\n"
	arHead  = 60 // bytes before each member
)

// readAr returns the members of an ar file.
func readAr(raw []byte) (map[string][]byte, error) {
	rest, is := bytes.CutPrefix(raw, []byte(arMagic))
	if !is {
		return nil, errors.New("not an ar file")
	}
	members := map[string][]byte{}
	for len(rest) >= arHead {
		var size int
		if _, err := fmt.Sscanf(string(rest[48:58]), "%d", &size); err != nil || size < 0 || size > len(rest)-arHead {
			return nil, errors.New("a member has no valid size")
		}
		name := string(bytes.TrimRight(rest[:16], " /"))
		members[name] = rest[arHead : arHead+size]
		rest = rest[min(len(rest), arHead+size+size%2):]
	}
	return members, nil
}
