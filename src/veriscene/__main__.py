from veriscene.cli import main

main()
