package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Of the format of .rpm, https://rpm-software-management.github.io/rpm/manual/format.html.
const (
	rpmLead      = 96
	rpmHead      = 16 // magic, reserved, number of index entries, bytes of data
	rpmIndex     = 16 // bytes of an index entry
	rpmAlignment = 8  // of the header after the signature
)

var rpmMagic = []byte{0x8e, 0xad, 0xe8, 0x01}

// readRPM returns the files that an .rpm with a gzip payload installs.
func readRPM(raw []byte) (contents, error) {
	at := rpmLead
	for range 2 { // signature, header
		at = (at + rpmAlignment - 1) / rpmAlignment * rpmAlignment
		if len(raw) < at+rpmHead || !bytes.Equal(raw[at:at+len(rpmMagic)], rpmMagic) {
			return nil, errors.New("not an rpm file")
		}
		entries, size := binary.BigEndian.Uint32(raw[at+8:]), binary.BigEndian.Uint32(raw[at+12:])
		at += rpmHead + int(entries)*rpmIndex + int(size)
		if at > len(raw) {
			return nil, errors.New("the header is longer than the file")
		}
	}
	payload, err := gzip.NewReader(bytes.NewReader(raw[at:]))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(payload)
	if err != nil {
		return nil, err
	}
	files, err := readCpio(text)
	return files.rooted(), err
}

// Of the format of cpio, "newc": a magic number and 13 fields of eight hexadecimal digits, then the name and the content, each padded.
const (
	cpioMagic     = "070701"
	cpioField     = 8
	cpioHead      = len(cpioMagic) + 13*cpioField
	cpioAlignment = 4
	cpioEnd       = "TRAILER!!!"

	cpioMode, cpioSize, cpioName = 1, 6, 11 // fields

	typeBits, typeRegular = 0o170000, 0o100000 // of modes
)

// readCpio returns the regular files of a cpio archive.
func readCpio(raw []byte) (contents, error) {
	files := contents{}
	for {
		if len(raw) < cpioHead || string(raw[:len(cpioMagic)]) != cpioMagic {
			return nil, errors.New("not a cpio archive")
		}
		var number [13]int
		for i := range number {
			from := len(cpioMagic) + i*cpioField
			n, err := strconv.ParseUint(string(raw[from:from+cpioField]), 16, 32)
			if err != nil {
				return nil, fmt.Errorf("a header of cpio: %w", err)
			}
			number[i] = int(n)
		}
		content := aligned(cpioHead + number[cpioName])
		end := content + number[cpioSize]
		if number[cpioName] == 0 || end > len(raw) {
			return nil, errors.New("the cpio archive is cut off")
		}
		name := string(raw[cpioHead : cpioHead+number[cpioName]-1])
		if name == cpioEnd {
			return files, nil
		}
		if number[cpioMode]&typeBits == typeRegular {
			files[name] = packed{int64(number[cpioMode]), raw[content:end]}
		}
		raw = raw[min(len(raw), aligned(end)):]
	}
}

func aligned(n int) int { return (n + cpioAlignment - 1) / cpioAlignment * cpioAlignment }
