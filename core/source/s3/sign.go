package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// What a GET carries: nothing.
var emptyHash = hex.EncodeToString(sha256.New().Sum(nil))

// sign adds the headers of Signature Version 4 to a GET.
// Source: docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
//
//	path  of the request, as it is sent
func sign(r *http.Request, path string, c Config, at time.Time) {
	now := at.UTC().Format("20060102T150405Z")
	day := now[:8]
	r.Header.Set("X-Amz-Content-Sha256", emptyHash)
	r.Header.Set("X-Amz-Date", now)
	if c.Token != "" {
		r.Header.Set("X-Amz-Security-Token", c.Token)
	}
	var names []string
	values := map[string]string{"host": r.Host}
	for name := range r.Header {
		values[strings.ToLower(name)] = r.Header.Get(name)
	}
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		headers.WriteString(name + ":" + values[name] + "\n")
	}
	signed := strings.Join(names, ";")
	request := strings.Join([]string{r.Method, path, r.URL.RawQuery, headers.String(), signed, emptyHash}, "\n")
	scope := day + "/" + c.Region + "/s3/aws4_request"
	hashed := sha256.Sum256([]byte(request))
	text := "AWS4-HMAC-SHA256\n" + now + "\n" + scope + "\n" + hex.EncodeToString(hashed[:])
	key := []byte("AWS4" + c.SecretKey)
	for _, part := range []string{day, c.Region, "s3", "aws4_request", text} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.AccessKey+"/"+scope+
		",SignedHeaders="+signed+",Signature="+hex.EncodeToString(key))
}

// escape writes each byte but letters, digits and -._~ as %XX, as signatures want it.
func escape(text string, slashes bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 || slashes && c == '/' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// canonical is a query in the order, and with the escapes, that are signed.
func canonical(query url.Values) string {
	var pairs []string
	for name, values := range query {
		for _, value := range values {
			pairs = append(pairs, escape(name, false)+"="+escape(value, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}
