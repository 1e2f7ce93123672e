package attach

import (
	"mime"
	"net/url"
	"path"
)

// NameOf is the name of a file, with the ending of its type if it has none: photos of Telegram have no name, and many addresses no ending.
func NameOf(name, mediaType string) string {
	if name != "" && path.Ext(name) != "" {
		return name
	}
	if name == "" {
		name = "file"
	}
	return name + endingOf(mediaType)
}

// Address is where the API has a stored file.
func Address(sha256, name string) string {
	address := "/api/files/" + sha256
	if named := address + "?name=" + url.QueryEscape(name); name != "" && len(named) <= maxAddress {
		return named
	}
	return address
}

// maxAddress limits an address with a name, in bytes.
const maxAddress = 200

func endingOf(mediaType string) string {
	kind, _, _ := mime.ParseMediaType(mediaType)
	switch kind {
	case "image/jpeg":
		return ".jpg"
	case "image/png":
		return ".png"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "audio/ogg":
		return ".ogg"
	case "audio/mpeg":
		return ".mp3"
	case "video/mp4":
		return ".mp4"
	case "application/pdf":
		return ".pdf"
	case "text/plain":
		return ".txt"
	}
	return ""
}
