package coordination

import (
	"crypto/sha256"
	"encoding/hex"
)

// FileStreams is the prefix of the file.changed streams, one per file.
const FileStreams = "file/"

// FileStream is the stream of a file's changes; path is relative to the state directory.
func FileStream(path string) string {
	if len(path) <= maxStreamID {
		return FileStreams + path
	}
	sum := sha256.Sum256([]byte(path))
	return FileStreams + "sha256:" + hex.EncodeToString(sum[:])
}
