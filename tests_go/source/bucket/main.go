// Command bucket serves a folder as a bucket of its name, to anybody, until its standard input ends. It prints its URL.
//
//	bucket -delay 20ms folder
package main

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type prefix struct{ Prefix string }

type object struct{ Key, ETag string }

type list struct {
	XMLName        xml.Name `xml:"ListBucketResult"`
	Contents       []object
	CommonPrefixes []prefix
}

func main() {
	delay := flag.Duration("delay", 0, "before each answer")
	flag.Parse()
	folder := filepath.Clean(flag.Arg(0))
	files := http.FileServer(http.Dir(filepath.Dir(folder)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(*delay)
			if r.URL.Query().Has("list-type") {
				_ = xml.NewEncoder(w).Encode(listed(folder, r.URL.Query().Get("prefix"), r.URL.Query().Has("delimiter")))
				return
			}
			w.Header().Set("ETag", tag(filepath.Join(filepath.Dir(folder), r.URL.Path)))
			files.ServeHTTP(w, r)
		})))
	}()
	fmt.Printf("http://%s\n", listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// tag tells versions of a file.
func tag(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`"%d-%d"`, info.Size(), info.ModTime().UnixNano())
}

// listed is what is in a folder: all files below it, or the folders in it.
func listed(root, below string, folders bool) (l list) {
	if folders {
		entries, _ := os.ReadDir(filepath.Join(root, below))
		for _, entry := range entries {
			if entry.IsDir() {
				l.CommonPrefixes = append(l.CommonPrefixes, prefix{below + entry.Name() + "/"})
			}
		}
		return l
	}
	_ = filepath.WalkDir(filepath.Join(root, below), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			l.Contents = append(l.Contents, object{strings.TrimPrefix(path, root+"/"), tag(path)})
		}
		return nil
	})
	return l
}
