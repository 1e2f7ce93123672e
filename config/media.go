package config

import (
	"fmt"
	"strconv"
	"time"
)

// Media are the settings of the files of messages that openclawd keeps beside the log.
type Media struct {
	TTL      time.Duration // after which a file that was not sent again is removed; 0: never
	MaxTotal int64         // bytes of all files; further ones are not fetched
}

const (
	defaultMediaMB = 20    // of one file
	defaultTotalMB = 2_048 // of all files
	maxMediaMB     = 1 << 20
	maxMediaHours  = 168 // as in OpenClaw
)

func (c *Config) decodeMedia(f *fields) {
	c.Media.TTL = time.Duration(f.count("ttlHours", 0, 0, maxMediaHours)) * time.Hour
	c.Media.MaxTotal = f.megabytes("maxTotalMb", defaultTotalMB)
	f.others("preserveFilenames")
	f.done()
}

// megabytes reads a size in MB, which may have a fraction, and returns it in bytes.
func (f *fields) megabytes(key string, otherwise int) int64 {
	v := f.get(key)
	f.schema.member(key).is("number")
	if otherwise > 0 {
		f.schema.member(key).otherwise(otherwise)
	}
	usual := int64(otherwise) << 20
	if v == nil {
		return usual
	}
	at := f.at.member(key)
	if v.kind != number {
		f.wrong(v, at, number.String())
		return usual
	}
	digits, ok := jsonNumber(v.text)
	mb, err := strconv.ParseFloat(digits, 64)
	if bytes := mb * (1 << 20); ok && err == nil && bytes >= 1 && mb <= maxMediaMB {
		return int64(bytes)
	}
	f.invalid(v, at, fmt.Sprintf("is not a size in MB up to %d", maxMediaMB), fmt.Sprintf("write one, such as %d", defaultMediaMB))
	return usual
}
