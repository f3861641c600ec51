// Pack writes a module into a folder as a module proxy serves it: list, go.mod, info and zip.
//
//	go run . MODULE-FOLDER PROXY-FOLDER VERSION
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: pack MODULE-FOLDER PROXY-FOLDER VERSION")
	}
	if err := pack(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func pack(source, proxy, version string) error {
	manifest, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	path := modfile.ModulePath(manifest)
	folder := filepath.Join(proxy, path, "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	files := map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": fmt.Appendf(nil, "{\"Version\":%q,\"Time\":\"2026-01-01T00:00:00Z\"}\n", version),
		version + ".mod":  manifest,
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(folder, version+".zip"))
	if err != nil {
		return err
	}
	defer archive.Close()
	return zip.CreateFromDir(archive, module.Version{Path: path, Version: version}, source)
}
